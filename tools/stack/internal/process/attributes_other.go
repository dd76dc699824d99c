//go:build !linux

package process

import "syscall"

func (s Spec) attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
