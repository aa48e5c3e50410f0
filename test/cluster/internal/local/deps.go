package local

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Dependency is a Debian package and the file that shows that it is there.
type Dependency struct {
	Package string
	// File is looked for in PATH, or, where it is absolute, as it stands.
	File string
}

// NodeDependencies are what a node needs besides the binaries that are built.
func NodeDependencies() []Dependency {
	return []Dependency{
		{containerRuntime, containerRuntime},
		{"runc", "runc"},
		{"containernetworking-plugins", filepath.Join(cniBin, "bridge")},
		{"iproute2", "ip"},
		{"iptables", "iptables"},
		{"conntrack", "conntrack"},
	}
}

// ImageDependencies are what building images of Dynamo needs.
func ImageDependencies() []Dependency {
	return []Dependency{{"mmdebstrap", "mmdebstrap"}, {"python3-pip", "pip3"}}
}

// Missing are the dependencies that this machine lacks.
func Missing(all []Dependency) []Dependency {
	var missing []Dependency
	for _, dependency := range all {
		if !present(dependency.File) {
			missing = append(missing, dependency)
		}
	}
	return missing
}

func present(file string) bool {
	if !filepath.IsAbs(file) {
		_, err := exec.LookPath(file)
		return err == nil
	}
	_, err := os.Stat(file)
	return err == nil
}

// Require names all that is missing, and the command that installs it.
func Require(purpose string, all []Dependency) error {
	missing := Missing(all)
	if len(missing) == 0 {
		return nil
	}
	var names []string
	for _, dependency := range missing {
		names = append(names, dependency.Package)
	}
	list := strings.Join(slices.Compact(names), " ")
	return fmt.Errorf("%s needs Debian packages that are not installed: %s\nInstall them with: apt-get install --no-install-recommends -y %s", purpose, list, list)
}

// checkNodeHost says what this machine lacks to be a node, before anything starts.
func checkNodeHost() error {
	if runtime.GOOS != "linux" {
		return errors.New("a node needs Linux, and this is " + runtime.GOOS + ": use --control-plane-only")
	}
	if os.Geteuid() != 0 {
		return errors.New("a node needs root (network namespace, containers): run as root, or use --control-plane-only")
	}
	return Require("a node", NodeDependencies())
}
