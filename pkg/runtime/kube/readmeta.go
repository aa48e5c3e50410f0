package kube

import (
	"github.com/dynawire/dynawire/pkg/runtime/internal/scan"
	"github.com/dynawire/dynawire/pkg/runtime/kube/join"
)

// readWorkerMetadata keeps what the join needs of a DynamoWorkerMetadata in JSON, and skips the managedFields, which are
// half of it. The result shares memory with the text.
func readWorkerMetadata(text string) (o join.Object, version string, err error) {
	// An API server writes the keys of a custom resource in alphabetical order: all that is wanted is behind the managedFields.
	// If anything is not there, they are stepped over with care.
	o, version, err = scanWorkerMetadata(text, true)
	if err != nil || version == "" || o.UID == "" || o.PodUID == "" {
		o, version, err = scanWorkerMetadata(text, false)
	}
	return o, version, err
}

func scanWorkerMetadata(text string, leap bool) (o join.Object, version string, err error) {
	s := scan.New(text)
	for s.Enter('{'); s.More('}'); {
		switch s.Key() {
		case "metadata":
			version = readObjectMeta(s, &o, leap)
		case "spec":
			if s.Null() {
				continue
			}
			for s.Enter('{'); s.More('}'); {
				if s.Key() == "data" {
					o.Document = s.Raw()
				} else {
					s.Skip()
				}
			}
		default:
			s.Skip()
		}
	}
	if !s.Done() || o.Name == "" {
		return join.Object{}, "", errMalformed
	}
	return o, version, nil
}

func readObjectMeta(s *scan.Scanner, o *join.Object, leap bool) (version string) {
	for s.Enter('{'); s.More('}'); {
		switch s.Key() {
		case "name":
			o.Name = s.String()
		case "uid":
			o.UID = s.String()
		case "resourceVersion":
			version = s.String()
		case "ownerReferences":
			o.PodUID = readPodOwner(s)
		case "managedFields":
			if !leap || o.Name != "" || !s.Leap("name") {
				s.Skip()
			}
		default:
			s.Skip()
		}
	}
	return version
}

// readPodOwner returns the UID of the first owner that is a pod.
func readPodOwner(s *scan.Scanner) string {
	if s.Null() {
		return ""
	}
	pod := ""
	for s.Enter('['); s.More(']'); {
		var version, kind, uid string
		for s.Enter('{'); s.More('}'); {
			switch s.Key() {
			case "apiVersion":
				version = s.String()
			case "kind":
				kind = s.String()
			case "uid":
				uid = s.String()
			default:
				s.Skip()
			}
		}
		if pod == "" && version == "v1" && kind == "Pod" {
			pod = uid
		}
	}
	return pod
}
