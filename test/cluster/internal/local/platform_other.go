//go:build !linux

package local

import (
	"context"
	"errors"
)

var errLinuxOnly = errors.New("a node needs Linux; use --control-plane-only")

func (l Layout) ensureNamespaces(context.Context) (bool, error) { return false, errLinuxOnly }

func (l Layout) ensureCgroups() error { return errLinuxOnly }

// There is nothing to find or to remove of a node that cannot have been made.

func (l Layout) removeNamespaces(context.Context) error { return nil }

func (l Layout) inCgroups() ([]int, error) { return nil, nil }

func (l Layout) removeCgroups() error { return nil }
