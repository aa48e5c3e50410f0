module github.com/dynawire/dynawire

go 1.26.0

require (
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3
	github.com/stretchr/testify v1.12.1
	gomodules.xyz/jsonpatch/v2 v2.5.0
	k8s.io/apimachinery v0.37.2
)

require (
	github.com/evanphx/json-patch v5.9.0+incompatible // indirect
	github.com/go-logr/logr v1.4.3 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	k8s.io/klog/v2 v2.140.0 // indirect
	k8s.io/utils v0.0.0-20260626114624-be93311217bd // indirect
)
