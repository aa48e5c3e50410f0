package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// releasePages takes the binary's pages out of the resident set; those that are needed come back from the page cache at
// the next touch. Every package of every API version is linked in and registers itself at the start, which maps
// four fifths of the binary; the work afterwards needs about half.
func releasePages() error {
	binary, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	mappings, err := readMappings()
	if err != nil {
		return err
	}
	for _, m := range mappings {
		// What was written since, as relocations are in position-independent code, is in no file.
		if m.path != binary || m.writable || m.anonymous {
			continue
		}
		if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, m.from, m.to-m.from, syscall.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("release the pages of %s at %x: %w", m.path, m.from, errno)
		}
	}
	return nil
}

// mapping is a part of the address space.
type mapping struct {
	from, to uintptr
	path     string
	writable bool
	// anonymous is whether it has pages of its own beside those of the file.
	anonymous bool
}

// readMappings reads /proc/self/smaps: for each mapping a line as in maps, and lines "Name: value" about it.
func readMappings() ([]mapping, error) {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var out []mapping
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if strings.HasSuffix(words[0], ":") {
			if words[0] == "Anonymous:" && len(out) > 0 {
				out[len(out)-1].anonymous = words[1] != "0"
			}
			continue
		}
		var m mapping
		if _, err := fmt.Sscanf(words[0], "%x-%x", &m.from, &m.to); err != nil {
			return nil, fmt.Errorf("read the mapping %q: %w", lines.Text(), err)
		}
		m.writable = strings.Contains(words[1], "w")
		if len(words) > 5 {
			m.path = words[5]
		}
		out = append(out, m)
	}
	return out, lines.Err()
}
