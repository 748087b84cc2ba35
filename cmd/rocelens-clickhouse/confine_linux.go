package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// confinedMark is set in the environment of the process that runs inside the confinement.
const confinedMark = "ROCELENS_CLICKHOUSE_CONFINED"

const (
	readFile  = unix.LANDLOCK_ACCESS_FS_READ_FILE
	readTree  = readFile | unix.LANDLOCK_ACCESS_FS_READ_DIR
	runTree   = readTree | unix.LANDLOCK_ACCESS_FS_EXECUTE
	readWrite = readFile | unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	// everything is what version 2 of Landlock (Linux 5.19) can refuse. Version 1 is of no use here: it
	// refuses to move a file from one directory to another, which the engine does all the time.
	everything = 1<<14 - 1
	// minimumVersion has LANDLOCK_ACCESS_FS_REFER.
	minimumVersion = 2
)

// rule lets the process do something with a file, or with all below a directory.
type rule struct {
	path   string
	access uint64
}

// surroundings are the paths outside the data directory that the C library, the loader and the engine
// read. None of them tells about this machine's users or processes.
var surroundings = []rule{
	{"/lib", runTree},
	{"/lib64", runTree},
	{"/usr/lib", runTree},
	{"/usr/lib64", runTree},
	{"/etc/ld.so.cache", readFile},
	{"/etc/localtime", readFile},
	{"/usr/share/zoneinfo", readTree},
	{"/dev/null", readWrite},
	{"/dev/urandom", readFile},
	{"/sys/devices/system/cpu", readTree},
	{"/sys/fs/cgroup", readTree},
	{"/proc/meminfo", readFile},
	{"/proc/cpuinfo", readFile},
	{"/proc/stat", readFile},
}

// confine gives up all files but those of the paths, each as it is needed, and the surroundings. A Landlock domain holds for
// the thread that asks for it and what descends from it, so the process starts itself anew from that
// thread. It returns nil without confinement where the kernel has no Landlock of use; the parent finds that out
// by trying.
func confine(own paths) error {
	if os.Getenv(confinedMark) != "" {
		return nil
	}
	if landlockVersion() < minimumVersion {
		return nil
	}
	ruleset, err := newRuleset()
	if err != nil {
		return fmt.Errorf("make a Landlock rule set: %w", err)
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program's file: %w", err)
	}
	library, err := filepath.EvalSymlinks(own.library)
	if err != nil {
		return fmt.Errorf("find the library's file: %w", err)
	}
	rules := slices.Concat(surroundings, []rule{
		{own.data, everything &^ unix.LANDLOCK_ACCESS_FS_EXECUTE},
		{own.logs, everything &^ (unix.LANDLOCK_ACCESS_FS_EXECUTE | readFile)}, // queries of others are in there
		{own.config, readFile},
		{own.users, readFile},
		{library, readFile | unix.LANDLOCK_ACCESS_FS_EXECUTE},
		{program, readFile | unix.LANDLOCK_ACCESS_FS_EXECUTE},
	})
	// Of its own process the C library needs the map of addresses and the engine some figures; neither gets at memory,
	// environment or arguments.
	process := "/proc/" + strconv.Itoa(os.Getpid())
	for _, name := range []string{"maps", "statm", "status", "stat"} {
		rules = append(rules, rule{filepath.Join(process, name), readFile})
	}
	for _, r := range rules {
		if err := allow(ruleset, r); err != nil {
			return fmt.Errorf("confine to %s: allow %s: %w", own.data, r.path, err)
		}
	}

	// A rule holds for the directory entry that it was made of; an open file keeps that of /proc from being
	// forgotten and made anew. It is left open for the life of the process.
	if _, err := unix.Open(process, unix.O_PATH, 0); err != nil {
		return fmt.Errorf("open %s: %w", process, err)
	}

	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		return fmt.Errorf("enter the Landlock domain: %w", errno)
	}
	// The environment is in /proc as well, so it goes in empty.
	err = unix.Exec(program, os.Args, []string{confinedMark + "=1"})
	return fmt.Errorf("start anew inside the Landlock domain: %w", err)
}

// landlockVersion is the version of the kernel's Landlock, 0 when it has none or it is switched off.
func landlockVersion() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

func newRuleset() (int, error) {
	attributes := unix.LandlockRulesetAttr{Handled_access_fs: everything}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET,
		uintptr(unsafe.Pointer(&attributes)), unsafe.Sizeof(attributes.Handled_access_fs), 0) //nolint:gosec // a system call's argument
	if errno != 0 {
		return 0, errno
	}
	return int(fd), nil
}

func allow(ruleset int, r rule) error {
	fd, err := unix.Open(r.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	attributes := unix.LandlockPathBeneathAttr{Allowed_access: r.access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE,
		uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attributes)), 0, 0, 0) //nolint:gosec // a system call's argument
	err = unix.Close(fd)
	if errno != 0 {
		return errno
	}
	return err
}
