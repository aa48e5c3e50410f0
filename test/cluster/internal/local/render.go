package local

import (
	"bytes"
	"embed"
	"fmt"
	"text/template"
)

//go:embed templates
var templateFiles embed.FS //nolint:gochecknoglobals // embedded files are read-only

// nodeConfig is what the templates of a node's configuration files speak of.
type nodeConfig struct {
	ID, Run, Data    string
	ContainerdSocket string
	PauseImage       string
	PodRange         string
	CNIBin, CNIConf  string
}

func (l Layout) nodeConfig() nodeConfig {
	return nodeConfig{
		ID: l.ID, Run: l.Run, Data: l.Data,
		ContainerdSocket: l.containerdSocket(),
		PauseImage:       pauseImage,
		PodRange:         podRange,
		CNIBin:           cniBin,
		CNIConf:          l.conf("cni"),
	}
}

func render(file string, values nodeConfig) ([]byte, error) {
	t, err := template.New(file).Option("missingkey=error").ParseFS(templateFiles, "templates/"+file)
	if err != nil {
		return nil, fmt.Errorf("parse the template %s: %w", file, err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, values); err != nil {
		return nil, fmt.Errorf("render %s: %w", file, err)
	}
	return out.Bytes(), nil
}
