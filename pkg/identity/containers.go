package identity

import (
	"slices"
	"strings"

	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// processes reads the containers. Without a label only what starts a Dynamo runtime makes a pod Dynamo's.
func processes(env environment, ns wiring.Settings, labelled bool) []Process {
	p := env.pod
	all, runtimes := scan(nil, p.Spec.Containers, false, &env, ns)
	all, sidecars := scan(all, p.Spec.InitContainers, true, &env, ns)
	switch {
	case runtimes+sidecars == len(all) && len(all) > 0:
		return all
	case runtimes+sidecars > 0:
		return slices.DeleteFunc(all, func(proc Process) bool { return !proc.Runtime })
	case !labelled:
		return nil
	case len(all) == 0 && len(p.Spec.Containers) > 0:
		return unrecognised(env)
	}
	return all
}

// unrecognised are the containers of a labelled pod in which nothing of Dynamo's is seen that are taken at the labels' word:
// those in container mode, each of which is an instance, else the first.
func unrecognised(env environment) []Process {
	var all []Process
	for i := range env.pod.Spec.Containers {
		var proc Process
		proc.begin(env, &env.pod.Spec.Containers[i], ContainerField(false, i))
		if proc.Variable(wiring.EnvKubeDiscoveryMode).Text == wiring.ContainerMode {
			all = append(all, proc)
		}
	}
	if len(all) == 0 {
		all = make([]Process, 1)
		all[0].begin(env, &env.pod.Spec.Containers[0], ContainerField(false, 0))
	}
	for i := range all {
		all[i].settleUnrecognised()
	}
	return all
}

// scan appends the processes of a list of containers that run a module, and counts those that start a runtime.
func scan(all []Process, list []pod.Container, init bool, env *environment, ns wiring.Settings) ([]Process, int) {
	runtimes := 0
	for i := range list {
		if init && list[i].RestartPolicy != "Always" {
			continue // it ends before the pod serves
		}
		if !mayRunModule(&list[i]) {
			continue
		}
		all = append(all, Process{}) // read where it stays, for it is large
		proc := &all[len(all)-1]
		proc.begin(*env, &list[i], ContainerField(init, i))
		known := proc.read(ns)
		env.left = proc.env.left
		if !known {
			all = all[:len(all)-1]
		} else if proc.Runtime {
			runtimes++
		}
	}
	return all, runtimes
}

// mayRunModule spares the containers a closer look that name nothing of Dynamo's and have no variable that could.
func mayRunModule(c *pod.Container) bool {
	for _, words := range [...][]string{c.Command, c.Args} {
		for _, word := range words {
			if strings.Contains(word, "dynamo") || strings.IndexByte(word, '$') >= 0 {
				return true
			}
		}
	}
	return false
}

func mainProcess(all []Process) int {
	first := -1
	for i := range all {
		m := all[i].Module
		if m != nil && m.Worker() && all[i].Registers {
			return i
		}
		if first < 0 && all[i].Registers {
			first = i
		}
	}
	return max(first, 0)
}
