// Package local starts, repairs and removes Kubernetes clusters on this machine.
package local

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"

	"github.com/dynawire/dynawire/test/cluster/internal/repo"
)

// maxName keeps the paths of UNIX sockets below the 108 bytes that Linux allows.
const maxName = 30

var validName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`) //nolint:gochecknoglobals // a constant in all but syntax

// Layout says where the parts of one cluster are. It follows from the cluster's
// name and the cache alone, so that a cluster can be taken down without its state.
type Layout struct {
	Name string
	// ID tells clusters of the same name in two checkouts apart; it names the
	// network namespace, the cgroups and the directories outside the cache.
	ID string
	// State holds the cluster's data, keys, logs and kubeconfigs, in the cache.
	State string
	// Run holds sockets and namespaces: short paths, gone after a reboot.
	Run string
	// Data holds what pods are made of: images, volumes and their mounts.
	Data string
}

// NewLayout is the layout of the named cluster in a cache.
func NewLayout(paths repo.Paths, name string) (Layout, error) {
	if len(name) > maxName || !validName.MatchString(name) {
		return Layout{}, fmt.Errorf("cluster name %q: use at most %d lower-case letters, digits and inner dashes", name, maxName)
	}
	state := filepath.Join(paths.Clusters(), name)
	sum := sha256.Sum256([]byte(state))
	id := "dynawire-" + name + "-" + hex.EncodeToString(sum[:3])
	return Layout{
		Name:  name,
		ID:    id,
		State: state,
		Run:   filepath.Join("/run/dynawire", id),
		Data:  filepath.Join("/var/lib/dynawire", id),
	}, nil
}

// Kubeconfig is the file for clients on the host.
func (l Layout) Kubeconfig() string { return filepath.Join(l.State, "kubeconfig") }

func (l Layout) pki(file string) string { return filepath.Join(l.State, "pki", file) }

func (l Layout) conf(file string) string { return filepath.Join(l.State, "conf", file) }

func (l Layout) log(component string) string { return filepath.Join(l.State, "logs", component+".log") }

func (l Layout) pidFile(component string) string {
	return filepath.Join(l.State, "pids", component+".json")
}

// lockFile lies beside the state, so that down can hold it while the state goes.
func (l Layout) lockFile() string { return l.State + ".lock" }

func (l Layout) netns() string { return filepath.Join("/run/netns", l.ID) }

func (l Layout) mountns() string { return filepath.Join(l.Run, "ns", "mnt") }

func (l Layout) containerdSocket() string { return filepath.Join(l.Run, "containerd.sock") }
