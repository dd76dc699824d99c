package process

import "syscall"

func (s Spec) attributes() *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setsid: true}
	if s.Apart {
		attributes.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET
	}
	return attributes
}
