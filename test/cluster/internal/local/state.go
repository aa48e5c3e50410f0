package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// Ports are the cluster's ports on the host's loopback address. With a node only
// the API server's is used: everything else is inside the network namespace.
type Ports struct {
	APIServer         int `json:"apiServer"`
	Etcd              int `json:"etcd,omitempty"`
	EtcdPeer          int `json:"etcdPeer,omitempty"`
	ControllerManager int `json:"controllerManager,omitempty"`
	Scheduler         int `json:"scheduler,omitempty"`
}

// State is what a cluster was created as: it outlives crashes and ends with down.
type State struct {
	ControlPlaneOnly bool              `json:"controlPlaneOnly"`
	Kubernetes       string            `json:"kubernetes"`
	Ports            Ports             `json:"ports"`
	Tokens           map[string]string `json:"tokens"`
}

func (l Layout) stateFile() string { return filepath.Join(l.State, "cluster.json") }

// loadState returns nil without an error where there is no such cluster.
func (l Layout) loadState() (*State, error) {
	data, err := os.ReadFile(l.stateFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the state of cluster %s: %w", l.Name, err)
	}
	var state State
	if err := json.Unmarshal(data, &state); err != nil {
		return nil, fmt.Errorf("read the state of cluster %s from %s: %w; `down --name %s` removes it", l.Name, l.stateFile(), err, l.Name)
	}
	return &state, nil
}

func (l Layout) saveState(state *State) error {
	data, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the state of cluster %s: %w", l.Name, err)
	}
	return writeFile(l.stateFile(), append(data, '\n'), 0o600)
}

// newState picks free ports and new tokens.
func newState(controlPlaneOnly bool, kubernetes string) (*State, error) {
	state := &State{ControlPlaneOnly: controlPlaneOnly, Kubernetes: kubernetes, Tokens: map[string]string{}}
	count := 1
	if controlPlaneOnly {
		count = 5
	}
	ports, err := freePorts(count)
	if err != nil {
		return nil, err
	}
	state.Ports.APIServer = ports[0]
	if controlPlaneOnly {
		state.Ports.Etcd, state.Ports.EtcdPeer = ports[1], ports[2]
		state.Ports.ControllerManager, state.Ports.Scheduler = ports[3], ports[4]
	}
	for _, user := range users("") {
		if state.Tokens[user.key], err = newToken(); err != nil {
			return nil, err
		}
	}
	return state, nil
}

// freePorts holds all of them open at once, so that no port comes twice.
func freePorts(count int) ([]int, error) {
	ports := make([]int, 0, count)
	for range count {
		listener, err := net.Listen("tcp4", "127.0.0.1:0") //nolint:noctx // binds and returns
		if err != nil {
			return nil, fmt.Errorf("find a free port on 127.0.0.1: %w", err)
		}
		defer listener.Close() //nolint:errcheck // all are released together at the end
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// writeFile writes under another name first: a reader sees the old or the new.
func writeFile(path string, data []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the directory of %s: %w", path, err)
	}
	partial := path + ".partial"
	if err := os.WriteFile(partial, data, mode); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(partial, path); err != nil {
		return fmt.Errorf("put %s in place: %w", path, err)
	}
	return nil
}
