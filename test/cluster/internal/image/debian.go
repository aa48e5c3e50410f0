package image

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// debianSuite is the release that images are made of, whatever the host's is.
const debianSuite = "bookworm"

const debianPackages = "python3,ca-certificates"

// debianKeyring is installed on every Debian, by debian-archive-keyring.
const debianKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// debianTrim leaves out what nobody reads in a container.
func debianTrim() []string {
	var args []string
	for _, dir := range []string{"doc", "man", "info", "locale", "lintian"} {
		args = append(args, "--dpkgopt=path-exclude=/usr/share/"+dir+"/*")
	}
	return append(args, "--customize-hook="+
		`rm -rf "$1"/etc/apt/apt.conf.d/99mmdebstrap "$1"/etc/apt/sources.list* "$1"/etc/dpkg/dpkg.cfg.d/99mmdebstrap "$1"/etc/hostname "$1"/etc/resolv.conf "$1"/var/log/*`)
}

func debianInputs() []string {
	return append([]string{debianSuite, debianPackages, runtime.GOARCH}, debianTrim()...)
}

// debianLayer makes a small Debian with Python, from the archives and through
// the proxies that the host's apt is configured to.
func debianLayer(ctx context.Context, file string) error {
	sources, err := debianSources(ctx)
	if err != nil {
		return err
	}
	options, err := aptOptions(ctx)
	if err != nil {
		return err
	}
	partial := file + ".partial.tar" // mmdebstrap tells the format by the name's end
	args := []string{"--quiet", "--variant=minbase", "--format=tar", "--include=" + debianPackages}
	args = append(args, debianTrim()...)
	for _, option := range options {
		args = append(args, "--aptopt="+option)
	}
	args = append(args, debianSuite, partial)
	cmd := exec.CommandContext(ctx, "mmdebstrap", append(args, sources...)...)
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=0")
	output, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("mmdebstrap is not installed: apt-get install --no-install-recommends -y mmdebstrap")
	}
	if err != nil {
		return fmt.Errorf("make a Debian %s with mmdebstrap: %w\n%s", debianSuite, err, output)
	}
	if err := os.Rename(partial, file); err != nil {
		return fmt.Errorf("put the Debian layer in place: %w", err)
	}
	return nil
}

// debianSources asks apt itself, which knows every format of its sources.
func debianSources(ctx context.Context) ([]string, error) {
	release, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return nil, fmt.Errorf("find the host's Debian release: %w", err)
	}
	list, err := exec.CommandContext(ctx, "apt-get", "indextargets", "--format", indexFormat, "Identifier: Packages").Output()
	if err != nil {
		return nil, fmt.Errorf("list the host's apt sources (apt-get indextargets): %w", err)
	}
	sources := sourceLines(string(list), osRelease(string(release), "VERSION_CODENAME"))
	if len(sources) == 0 {
		return nil, errors.New("apt on this host has no source of Debian's own packages (component main): configure one in /etc/apt/sources.list.d")
	}
	return sources, nil
}

const indexFormat = "$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)"

// sourceLines picks Debian's own archives of the host's release and asks them
// for debianSuite. A field that apt does not know yet stays as it was written.
func sourceLines(indexTargets, hostRelease string) []string {
	signed := ""
	if _, err := os.Stat(debianKeyring); err == nil {
		signed = "[signed-by=" + debianKeyring + "] "
	}
	var lines []string
	for target := range strings.Lines(indexTargets) {
		fields := strings.Fields(target)
		if len(fields) < 4 || fields[2] != "main" || (fields[3] != "Debian" && fields[3] != "$(ORIGIN)") {
			continue
		}
		uri, release := fields[0], fields[1]
		suffix, ok := strings.CutPrefix(release, hostRelease)
		if !ok || (suffix != "" && suffix != "-updates" && suffix != "-security") || strings.HasPrefix(uri, "cdrom:") {
			continue
		}
		line := fmt.Sprintf("deb %s%s %s%s main", signed, uri, debianSuite, suffix)
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

func osRelease(file, key string) string {
	for line := range strings.Lines(file) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), key+"="); ok {
			return strings.Trim(value, `"'`)
		}
	}
	return ""
}

// aptOptions are the host's settings of how apt reaches its archives.
func aptOptions(ctx context.Context) ([]string, error) {
	dump, err := exec.CommandContext(ctx, "apt-config", "dump", "--no-empty").Output()
	if err != nil {
		return nil, fmt.Errorf("read the host's apt configuration (apt-config dump): %w", err)
	}
	return accessOptions(dump), nil
}

func accessOptions(dump []byte) []string {
	var options []string
	lines := bufio.NewScanner(bytes.NewReader(dump))
	for lines.Scan() {
		name, _, _ := strings.Cut(strings.ToLower(lines.Text()), " ")
		switch {
		case strings.HasPrefix(name, "acquire::http::"), strings.HasPrefix(name, "acquire::https::"),
			name == "acquire::check-valid-until", name == "acquire::check-date", name == "acquire::retries":
			options = append(options, strings.TrimSuffix(lines.Text(), ";"))
		}
	}
	return options
}
