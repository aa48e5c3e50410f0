package local

import "path/filepath"

// pauseImage is the image of every pod's sandbox, imported before the kubelet
// starts.
const pauseImage = "docker.io/local/pause:v1"

// containerRuntime is the program that runs containers.
const containerRuntime = "containerd"

// node lists what makes the machine a node of its cluster, in the order in which
// it starts.
func (c *Cluster) node() []component {
	e := c.endpoints()
	return []component{
		{name: containerRuntime, enter: c.enterNode(), argv: []string{containerRuntime, "--config", c.conf("containerd.toml")},
			healthy: c.containerdHealthy, then: c.ensurePauseImage},
		{name: "kubelet", enter: c.enterNode(), argv: c.kubeletArgs(),
			healthy: httpCheck(e.netns, e.url("http", kubeletHealthPort, "/healthz"), "")},
		{name: "kube-proxy", enter: c.enterNet(), argv: c.kubeProxyArgs(),
			healthy: httpCheck(e.netns, e.url("http", kubeProxyHealthPort, "/livez"), "")},
	}
}

func (c *Cluster) kubeletArgs() []string {
	return []string{
		c.binary("kubelet"),
		"--config=" + c.conf("kubelet.yaml"),
		"--kubeconfig=" + c.conf(userKubelet+".kubeconfig"),
		"--hostname-override=" + c.nodeName(),
		"--node-ip=" + nodeAddress,
		"--root-dir=" + filepath.Join(c.Data, "kubelet"),
		"--cert-dir=" + filepath.Join(c.Data, "kubelet-pki"),
	}
}

func (c *Cluster) kubeProxyArgs() []string {
	return []string{
		c.binary("kube-proxy"),
		"--kubeconfig=" + c.conf(userKubeProxy+".kubeconfig"),
		"--proxy-mode=iptables",
		"--conntrack-max-per-core=0", // the limit is the machine's, not the namespace's
		"--hostname-override=" + c.nodeName(),
		"--healthz-bind-address=127.0.0.1",
	}
}

// nodeName is the cluster's: it has one node.
func (l Layout) nodeName() string { return l.Name }
