package mutate

import (
	"strconv"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// paths are the JSON pointers of one container.
type paths struct {
	env, envFirst, ports, portsLast, readinessProbe string
}

// Nearly every pod has its Dynamo process in one of its first containers.
var firstContainers = [...]paths{
	containerPaths("/spec/containers/0"), containerPaths("/spec/containers/1"),
	containerPaths("/spec/containers/2"), containerPaths("/spec/containers/3"),
}

func containerPaths(container string) paths {
	return paths{
		env: container + "/env", envFirst: container + "/env/0",
		ports: container + "/ports", portsLast: container + "/ports/-",
		readinessProbe: container + "/readinessProbe",
	}
}

func pathsOf(at identity.Field) *paths {
	sidecar, i := at.Container()
	if !sidecar && i < len(firstContainers) {
		return &firstContainers[i]
	}
	list := "/spec/containers/"
	if sidecar {
		list = "/spec/initContainers/"
	}
	p := containerPaths(list + strconv.Itoa(i))
	return &p
}

// The pointers of what is stamped on the pod; "~1" is "/" (RFC 6901).
const (
	metadataPath    = "/metadata"
	labelsPath      = "/metadata/labels"
	annotationsPath = "/metadata/annotations"

	accountPath           = "/spec/serviceAccountName"
	deprecatedAccountPath = "/spec/serviceAccount"
	automountPath         = "/spec/automountServiceAccountToken"
)

var (
	accountAnnotationPath = annotationsPath + "/" + escape(wiring.AnnotationServiceAccount)
	scopeAnnotationPath   = annotationsPath + "/" + escape(wiring.AnnotationFrontendScope)
	assumedAnnotationPath = annotationsPath + "/" + escape(wiring.AnnotationNamespaceAssumed)
)

// escape writes a key as part of a JSON pointer.
func escape(key string) string {
	var b []byte
	for i := 0; i < len(key); i++ {
		switch key[i] {
		case '~':
			b = append(b, "~0"...)
		case '/':
			b = append(b, "~1"...)
		default:
			b = append(b, key[i])
		}
	}
	return string(b)
}
