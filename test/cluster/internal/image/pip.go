package image

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
)

// glibcMinor is the minor version of debianSuite's C library, 2.36: wheels for
// this one and older ones run there.
const glibcMinor = 36

// pipInstall installs wheels that fit the image, whatever Python the host has.
// Where packages come from is what the host's pip is configured to.
func pipInstall(ctx context.Context, dir string, packages []string) error {
	python, err := findPip(ctx)
	if err != nil {
		return err
	}
	args := append([]string{"-m", "pip", "install"}, pipArguments(dir, runtime.GOARCH)...)
	if output, err := exec.CommandContext(ctx, python, append(args, packages...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("install Python packages %v with %s -m pip: %w\n%s", packages, python, err, output)
	}
	return nil
}

func pipArguments(dir, arch string) []string {
	args := []string{
		"--quiet", "--disable-pip-version-check", "--no-input",
		"--no-deps", "--no-compile", "--target", dir,
		"--only-binary=:all:", "--python-version", pythonVersion, "--implementation", "cp",
		"--abi", "cp311", "--abi", "abi3", "--abi", "none",
	}
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[arch]
	for minor := glibcMinor; minor >= 5; minor-- {
		args = append(args, "--platform", "manylinux_2_"+strconv.Itoa(minor)+"_"+machine)
	}
	// manylinux2014 is the older spelling of manylinux_2_17; pip adds its elders.
	return append(args, "--platform", "manylinux2014_"+machine, "--platform", "linux_"+machine)
}

// findPip prefers the PATH's Python, and takes the system's where that has no pip.
func findPip(ctx context.Context) (string, error) {
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(ctx, python, "-m", "pip", "--version").Run() == nil {
			return python, nil
		}
	}
	return "", errors.New("no python3 with pip on this machine: install it with apt-get install --no-install-recommends -y python3-pip")
}
