package local

import (
	"fmt"
	"os"
)

// writeConfig renders every file that the components read; doing so again
// changes nothing.
func (c *Cluster) writeConfig() error {
	if err := writeFile(c.conf("tokens.csv"), tokenFile(c.nodeName(), c.state.Tokens), 0o600); err != nil {
		return err
	}
	if err := c.writeKubeconfigs(); err != nil {
		return err
	}
	if c.state.ControlPlaneOnly {
		return nil
	}
	for template, file := range map[string]string{
		"kubelet.yaml":    "kubelet.yaml",
		"containerd.toml": "containerd.toml",
		"cni.conflist":    "cni/10-bridge.conflist",
	} {
		data, err := render(template, c.nodeConfig())
		if err != nil {
			return err
		}
		if err := writeFile(c.conf(file), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeKubeconfigs writes one per user, with the address at which it finds the
// API server: components beside it its own, clients on the host the forwarder's.
func (c *Cluster) writeKubeconfigs() error {
	ca, err := os.ReadFile(c.pki("ca.crt"))
	if err != nil {
		return fmt.Errorf("read the CA of cluster %s: %w", c.Name, err)
	}
	host := "https://" + portAddress("127.0.0.1", c.state.Ports.APIServer)
	inside := host
	if !c.state.ControlPlaneOnly {
		inside = "https://" + portAddress(nodeAddress, apiServerPort)
	}
	write := func(file, server, user string) error {
		data, err := kubeconfig(c.Name, server, ca, user, c.state.Tokens[user])
		if err != nil {
			return err
		}
		return writeFile(file, data, 0o600)
	}
	for _, user := range []string{userControllerManager, userScheduler, userKubelet, userKubeProxy} {
		if err := write(c.conf(user+".kubeconfig"), inside, user); err != nil {
			return err
		}
	}
	return write(c.Kubeconfig(), host, userAdmin)
}
