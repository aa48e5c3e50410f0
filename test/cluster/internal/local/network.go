package local

import "path/filepath"

// Addresses inside a cluster's network namespace, from the ranges that RFC 5737
// and RFC 2544 set aside for documentation and tests: they collide with nobody's
// network, and as each cluster has a namespace of its own, not with each other.
const (
	nodeAddress    = "192.0.2.10"
	nodePrefix     = "192.0.2.10/24"
	podRange       = "198.51.100.0/24"
	serviceRange   = "198.18.0.0/24"
	firstServiceIP = "198.18.0.1"
	// The ports inside the namespace are each program's own default.
	apiServerPort         = 6443
	etcdPort              = 2379
	etcdPeerPort          = 2380
	controllerManagerPort = 10257
	schedulerPort         = 10259
	kubeletHealthPort     = 10248
	kubeProxyHealthPort   = 10256
)

// cniBin is where Debian's containernetworking-plugins puts them.
const cniBin = "/usr/lib/cni"

// enterNet is the command in front of a command that runs in the cluster's
// network namespace. Not `ip netns exec`: it mounts /sys anew, and the cgroup
// mounts beneath it are gone.
func (l Layout) enterNet() []string { return []string{"nsenter", "--net=" + l.netns(), "--"} }

// enterNode adds the mount namespace that containerd and the kubelet share.
func (l Layout) enterNode() []string {
	return []string{"nsenter", "--net=" + l.netns(), "--mount=" + l.mountns(), "--"}
}

// hostDirs are directories that Kubernetes programs use whatever they are told.
// Inside the mount namespace each is one beneath Data, so that clusters share
// none of them and the host's stay empty.
func (l Layout) hostDirs() map[string]string {
	dirs := map[string]string{}
	for _, dir := range []string{"/var/lib/kubelet", "/var/lib/cni", "/var/log/containers", "/run/containerd"} {
		dirs[dir] = filepath.Join(l.Data, "host", filepath.Base(filepath.Dir(dir))+"-"+filepath.Base(dir))
	}
	return dirs
}
