// Command dns is CoreDNS with the plugins that the local cluster uses and no others: CoreDNS's own main package
// links the clients of several clouds, which would be half of the modules to download.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
)

func main() {
	dnsserver.Directives = []string{"bind", "errors", "cache", "kubernetes"} // the order in which a query passes them
	coremain.Run()
}
