package runtime

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// InstanceID is the id of the process's instance. In container mode an instance that is not the main container's has its
// object's name for PodName, and for UID that of its pod and the container: "UID/CONTAINER".
func (id Identity) InstanceID() InstanceID {
	i := InstanceID{Namespace: id.PodNamespace, PodName: id.ObjectName(), UID: id.PodUID}
	if i.PodName != id.PodName {
		i.UID = ContainerUID(id.PodUID, id.Container)
	}
	return i
}

// ContainerUID is the UID of an instance that is one of its pod's containers.
func ContainerUID(podUID, container string) string { return podUID + "/" + container }

// Identity is what a pod knows about itself. dynawire's webhook puts it into the environment of every pod that it wires.
type Identity struct {
	// PodName, PodNamespace and PodUID are the pod's. A program that only looks needs no more than PodNamespace.
	PodName      string
	PodNamespace string
	PodUID       string
	// Namespace and Component are Dynamo's; Component is empty where the environment does not say.
	Namespace string
	Component string
	// WorkerSuffix is appended to the namespace in what the instance publishes, after a hyphen, as Dynamo does.
	WorkerSuffix string
	// Endpoint is the one that the pod is expected to serve.
	Endpoint string
	// SystemPort is where the kubelet asks for /health: 0 means 9090, where dynawire's probe asks, AnyPort any free port (which
	// no probe finds). Negative: none, the program serves Health itself.
	SystemPort int
	// Backend is where peers look for this process (DYN_DISCOVERY_BACKEND); only Diagnose reads it.
	Backend string
	// Container is set in container mode (DYN_KUBE_DISCOVERY_MODE=container), where each container of a pod is an instance of
	// its own: the container's name (CONTAINER_NAME). Empty: the pod is the instance.
	Container string
}

// ObjectName is the name under which the process publishes what it is, and from which its instance number follows: the
// pod's, or in container mode POD-CONTAINER for all but the container "main" (ai-dynamo/dynamo
// lib/runtime/src/discovery/kube/utils.rs).
func (id Identity) ObjectName() string {
	if id.Container == "" || id.Container == wiring.MainContainer {
		return id.PodName
	}
	return id.PodName + "-" + id.Container
}

// IdentityFromEnv reads the environment that the webhook injects. The error names the variable that is missing or wrong
// and what to do about it.
func IdentityFromEnv() (Identity, error) { return identityFrom(os.Getenv) }

func identityFrom(getenv func(string) string) (Identity, error) {
	id := Identity{
		PodName:      getenv(wiring.EnvPodName),
		PodNamespace: getenv(wiring.EnvPodNamespace),
		PodUID:       getenv(wiring.EnvPodUID),
		Namespace:    getenv(wiring.EnvNamespace),
		Component:    getenv(wiring.EnvComponent),
		WorkerSuffix: getenv(wiring.EnvWorkerSuffix),
		Endpoint:     endpointFrom(getenv),
		SystemPort:   wiring.SystemPort,
		Backend:      getenv(wiring.EnvDiscoveryBackend),
	}
	if id.Namespace == "" {
		id.Namespace = wiring.DefaultNamespace
	}
	for _, v := range [...]struct{ name, value, field string }{
		{wiring.EnvPodName, id.PodName, "metadata.name"},
		{wiring.EnvPodNamespace, id.PodNamespace, "metadata.namespace"},
		{wiring.EnvPodUID, id.PodUID, "metadata.uid"},
	} {
		if v.value == "" {
			return Identity{}, fmt.Errorf("%s is not set: label the Kubernetes namespace %s=true and the pod %s=COMPONENT, so that dynawire "+
				"injects it, and recreate the pod; or set it by hand from fieldRef %s", v.name, wiring.LabelDiscoveryEnabled, wiring.LabelComponent, v.field)
		}
	}
	if err := id.readMode(getenv); err != nil {
		return Identity{}, err
	}
	if port := getenv(wiring.EnvSystemPort); port != "" {
		// Dynamo's runtime keeps the port in 16 signed bits (-1 is off).
		n, err := strconv.ParseInt(port, 10, 16)
		if err != nil {
			return Identity{}, fmt.Errorf("%s is %q: it must be a number up to 32767, 0 for any free port, -1 for none",
				wiring.EnvSystemPort, port)
		}
		if id.SystemPort = int(n); n == 0 {
			id.SystemPort = AnyPort // as Dynamo has it
		}
	}
	return id, nil
}

// readMode reads whether the pod or the container is the instance.
func (id *Identity) readMode(getenv func(string) string) error {
	switch mode := getenv(wiring.EnvKubeDiscoveryMode); mode {
	case "", "pod":
		return nil
	case wiring.ContainerMode:
		if id.Container = getenv(wiring.EnvContainerName); id.Container == "" {
			return fmt.Errorf("%s is not set, but %s is \"container\": set it to the container's name", wiring.EnvContainerName,
				wiring.EnvKubeDiscoveryMode)
		}
		return nil
	default:
		return fmt.Errorf("%s is %q: it must be \"pod\" (the default) or \"container\"", wiring.EnvKubeDiscoveryMode, mode)
	}
}

// endpointFrom reads the endpoint's name out of [dyn://][ns.component.]endpoint; a pod that was not given one still knows
// which endpoint its health is expected to speak for.
func endpointFrom(getenv func(string) string) string {
	if e := strings.TrimPrefix(getenv(wiring.EnvEndpoint), "dyn://"); e != "" {
		return e[strings.LastIndexByte(e, '.')+1:]
	}
	var names []string
	if json.Unmarshal([]byte(getenv(wiring.EnvEndpointHealthStatus)), &names) == nil && len(names) > 0 && names[0] != "" {
		return names[0]
	}
	return wiring.DefaultEndpoint
}
