package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// ticks is the number of clock ticks per second in /proc (USER_HZ), 100 on every Linux.
const ticks = 100

// CPUSeconds returns the processor time that a process has used.
func CPUSeconds(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read processor time: %w", err)
	}
	// After the command's name in parentheses come the state and, as the 12th and 13th field, utime and stime.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const user, system = 11, 12
	if len(fields) <= system {
		return 0, fmt.Errorf("read processor time: %q", text)
	}
	u, userErr := strconv.ParseFloat(fields[user], 64)
	s, systemErr := strconv.ParseFloat(fields[system], 64)
	return (u + s) / ticks, errors.Join(userErr, systemErr)
}

// RSS returns the resident memory of a process in bytes.
func RSS(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read resident memory: %w", err)
	}
	_, tail, _ := strings.Cut(string(text), "VmRSS:")
	value, _, _ := strings.Cut(tail, "kB")
	kib, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil {
		return 0, fmt.Errorf("read resident memory: no VmRSS: %w", err)
	}
	return kib * 1024, nil
}

// WrittenBytes returns how many bytes a process has caused to be written to disks.
func WrittenBytes(pid int) (float64, error) { return transferred(pid, "write_bytes") }

// ReadBytes returns how many bytes a process has read from sockets and files.
func ReadBytes(pid int) (float64, error) { return transferred(pid, "rchar") }

// transferred returns a counter of the file io of a process, see proc_pid_io(5).
func transferred(pid int, counter string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, fmt.Errorf("read transferred bytes: %w", err)
	}
	_, tail, _ := strings.Cut("\n"+string(text), "\n"+counter+": ") // another name ends with write_bytes too
	value, _, _ := strings.Cut(tail, "\n")
	bytes, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return 0, fmt.Errorf("read transferred bytes: no %s: %w", counter, err)
	}
	return bytes, nil
}

// CleanEnv drops variables that would configure a service in addition to its arguments: every flag can be set by a
// FLOTILLA_ variable, and a sourced .local/env may belong to another checkout. The cache directory stays.
func CleanEnv(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == "KUBECONFIG" || name == "NATS_URL" || name == "MYSQL_DSN" ||
			strings.HasPrefix(name, "FLOTILLA_") && name != "FLOTILLA_CACHE"
	})
}
