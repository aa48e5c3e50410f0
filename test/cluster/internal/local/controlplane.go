package local

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// endpoints are where the components listen and how this program reaches them.
type endpoints struct {
	host  string // that servers bind to, besides the API server's public side
	netns string // that holds it
	ports Ports
}

func (c *Cluster) endpoints() endpoints {
	e := endpoints{host: "127.0.0.1"}
	if c.state.ControlPlaneOnly {
		e.ports = c.state.Ports
		return e
	}
	e.netns = c.netns()
	e.ports = Ports{APIServer: apiServerPort, Etcd: etcdPort, EtcdPeer: etcdPeerPort,
		ControllerManager: controllerManagerPort, Scheduler: schedulerPort}
	return e
}

func (e endpoints) url(scheme string, port int, path string) string {
	return scheme + "://" + portAddress(e.host, port) + path
}

// controlPlane lists its components in the order in which they start.
func (c *Cluster) controlPlane() []component {
	e := c.endpoints()
	list := []component{
		{name: "etcd", argv: c.etcdArgs(e), healthy: httpCheck(e.netns, e.url("http", e.ports.Etcd, "/health"), "")},
		{name: "kube-apiserver", argv: c.apiServerArgs(e),
			healthy: httpCheck(e.netns, e.url("https", e.ports.APIServer, "/readyz"), c.state.Tokens[userAdmin])},
		{name: "kube-controller-manager", argv: c.controllerManagerArgs(e),
			healthy: httpCheck(e.netns, e.url("https", e.ports.ControllerManager, "/healthz"), "")},
		{name: "kube-scheduler", argv: c.schedulerArgs(e),
			healthy: httpCheck(e.netns, e.url("https", e.ports.Scheduler, "/healthz"), "")},
	}
	if !c.state.ControlPlaneOnly {
		for i := range list {
			list[i].enter = c.enterNet()
		}
	}
	return list
}

func (c *Cluster) etcdArgs(e endpoints) []string {
	client, peer := e.url("http", e.ports.Etcd, ""), e.url("http", e.ports.EtcdPeer, "")
	return []string{
		c.binary("etcd"),
		"--name=" + c.Name,
		"--data-dir=" + filepath.Join(c.State, "etcd"),
		"--unsafe-no-fsync", // a test cluster need not outlive a power cut
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=" + c.Name + "=" + peer,
	}
}

func (c *Cluster) apiServerArgs(e endpoints) []string {
	args := []string{
		c.binary("kube-apiserver"),
		"--etcd-servers=" + e.url("http", e.ports.Etcd, ""),
		"--secure-port=" + strconv.Itoa(e.ports.APIServer),
		"--tls-cert-file=" + c.pki("apiserver.crt"),
		"--tls-private-key-file=" + c.pki("apiserver.key"),
		"--token-auth-file=" + c.conf("tokens.csv"),
		"--service-account-key-file=" + c.pki("service-account.key"),
		"--service-account-signing-key-file=" + c.pki("service-account.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--authorization-mode=RBAC,Node",
		"--allow-privileged",
		"--service-cluster-ip-range=" + serviceRange,
		"--kubelet-preferred-address-types=InternalIP",
	}
	if c.state.ControlPlaneOnly {
		// A loopback address cannot be an endpoint of the Service "kubernetes".
		return append(args, "--bind-address="+e.host, "--endpoint-reconciler-type=none")
	}
	return append(args, "--bind-address=0.0.0.0", "--advertise-address="+nodeAddress)
}

func (c *Cluster) controllerManagerArgs(e endpoints) []string {
	return []string{
		c.binary("kube-controller-manager"),
		"--kubeconfig=" + c.conf(userControllerManager+".kubeconfig"),
		"--bind-address=" + e.host,
		"--secure-port=" + strconv.Itoa(e.ports.ControllerManager),
		"--service-account-private-key-file=" + c.pki("service-account.key"),
		"--use-service-account-credentials",
		"--root-ca-file=" + c.pki("ca.crt"),
		"--leader-elect=false",
		// Its default limits, made for clusters of thousands, cost seconds at start.
		"--kube-api-qps=200", "--kube-api-burst=400",
	}
}

func (c *Cluster) schedulerArgs(e endpoints) []string {
	return []string{
		c.binary("kube-scheduler"),
		"--kubeconfig=" + c.conf(userScheduler+".kubeconfig"),
		"--bind-address=" + e.host,
		"--secure-port=" + strconv.Itoa(e.ports.Scheduler),
		"--leader-elect=false",
	}
}

// forwarder gives clients on the host a port of the API server.
func (c *Cluster) forwarder() (component, error) {
	self, err := os.Executable()
	if err != nil {
		return component{}, fmt.Errorf("find this program, which forwards too: %w", err)
	}
	listen := portAddress("127.0.0.1", c.state.Ports.APIServer)
	return component{
		name: "forwarder",
		argv: []string{self, ForwardCommand, "--listen", listen, "--netns", c.netns(),
			"--to", portAddress(nodeAddress, apiServerPort)},
		healthy: httpCheck("", fmt.Sprintf("https://%s/readyz", listen), c.state.Tokens[userAdmin]),
	}, nil
}
