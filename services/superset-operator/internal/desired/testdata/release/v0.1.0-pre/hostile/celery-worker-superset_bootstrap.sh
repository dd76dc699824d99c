export FROM_BOOTSTRAP="it's here"
