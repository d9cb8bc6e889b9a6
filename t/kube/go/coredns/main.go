// CoreDNS with what the test cluster's Corefile uses, and nothing else: all of its plugins are 700 packages more.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"
)

func main() {
	// The order in which a query passes them: what is none of the cluster's names comes to the template.
	dnsserver.Directives = []string{"bind", "ready", "errors", "kubernetes", "template"}
	coremain.Run()
}
