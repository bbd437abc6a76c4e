package main

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"slices"
	"testing"
)

// The API server's certificate is good for the addresses by which it is reached, and users are who they say.
func TestPKI(t *testing.T) {
	l := testLayout(t)
	if err := makePKI(l); err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(l.pki("ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		t.Fatalf("no certificate in %s", ca)
	}
	read := func(name string) *x509.Certificate {
		t.Helper()
		pair, err := tls.LoadX509KeyPair(l.pki(name+".crt"), l.pki(name+".key"))
		if err != nil {
			t.Fatal(err)
		}
		return pair.Leaf
	}
	for _, name := range []string{fabricAddress, "127.0.0.1", apiService, "kubernetes.default.svc"} {
		if _, err := read("apiserver").Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); err != nil {
			t.Error(err)
		}
	}
	n := read("node-n2")
	if _, err := n.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Error(err)
	}
	if n.Subject.CommonName != "system:node:n2" || !slices.Equal(n.Subject.Organization, []string{"system:nodes"}) {
		t.Errorf("the node is %v", n.Subject)
	}
	if info, err := os.Stat(l.pki("admin.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the administrator's key: %v, %v", info, err)
	}
}
