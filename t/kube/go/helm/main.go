// What `helm template` does with a chart and values, by Helm's own library, and nothing else: its command has 400 packages more.
//
// usage: helm-template CHART NAMESPACE [VALUES.json]
package main

import (
	"fmt"
	"os"
	"path"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

func render(folder, namespace string, more []string) (map[string]string, error) {
	chart, err := loader.Load(folder)
	if err != nil {
		return nil, err
	}
	values := chartutil.Values{}
	if len(more) > 0 {
		if values, err = chartutil.ReadValuesFile(more[0]); err != nil {
			return nil, err
		}
	}
	release := chartutil.ReleaseOptions{Name: "release", Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, values, release, nil)
	if err != nil {
		return nil, err
	}
	return engine.Engine{Strict: true}.Render(chart, all)
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: helm-template CHART NAMESPACE [VALUES.json]")
		os.Exit(2)
	}
	files, err := render(os.Args[1], os.Args[2], os.Args[3:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "helm-template:", err)
		os.Exit(1)
	}
	names := []string{}
	for name := range files {
		if strings.HasSuffix(path.Base(name), ".yaml") {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Printf("---\n# Source: %s\n%s\n", name, files[name])
	}
}
