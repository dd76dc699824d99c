export FROM_BOOTSTRAP="it's \$HOME \`here\` {x} 💥"
# $(id) `id`