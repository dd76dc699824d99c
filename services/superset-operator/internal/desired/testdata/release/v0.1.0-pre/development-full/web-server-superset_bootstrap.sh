export FROM_BOOTSTRAP=yes
