package local

import "context"

// Status is the state of a cluster, as `status -o json` prints it.
type Status struct {
	Name             string            `json:"name"`
	Running          bool              `json:"running"`
	ControlPlaneOnly bool              `json:"controlPlaneOnly"`
	Kubernetes       string            `json:"kubernetes"`
	Kubeconfig       string            `json:"kubeconfig"`
	Server           string            `json:"server"`
	Components       []ComponentStatus `json:"components"`
}

// ComponentStatus is the state of one program of a cluster.
type ComponentStatus struct {
	Name string `json:"name"`
	// State is running, unhealthy or stopped.
	State string `json:"state"`
	PID   int    `json:"pid,omitempty"`
	Log   string `json:"log"`
	// Detail says why it is unhealthy.
	Detail string `json:"detail,omitempty"`
}

// Status looks at every component. Running means that all are well.
func (c *Cluster) Status(ctx context.Context) (Status, error) {
	if err := c.RequireExists(); err != nil {
		return Status{}, err
	}
	components, err := c.components()
	if err != nil {
		return Status{}, err
	}
	status := Status{
		Name: c.Name, Running: true,
		ControlPlaneOnly: c.state.ControlPlaneOnly,
		Kubernetes:       c.state.Kubernetes,
		Kubeconfig:       c.Kubeconfig(),
		Server:           "https://" + portAddress("127.0.0.1", c.state.Ports.APIServer),
	}
	for _, comp := range components {
		s := ComponentStatus{Name: comp.name, State: "running", PID: c.running(comp.name), Log: c.log(comp.name)}
		if s.PID == 0 {
			s.State = "stopped"
		} else if err := comp.healthy(ctx); err != nil {
			s.State, s.Detail = "unhealthy", err.Error()
		}
		status.Running = status.Running && s.State == "running"
		status.Components = append(status.Components, s)
	}
	return status, nil
}
