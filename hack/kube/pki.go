package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// validity of certificates; a run lives for hours.
const validity = 365 * 24 * time.Hour

// authority signs the certificates of one run.
type authority struct {
	dir  string
	cert *x509.Certificate
	der  []byte
	key  *ecdsa.PrivateKey
}

// subject is whom a certificate speaks for: a user name and groups, as the API server reads them.
type subject struct {
	file, user string
	groups     []string
	names      []string // DNS names and addresses, for servers
}

// makePKI writes all keys, certificates and kubeconfigs of a run, for all nodes that there may be.
func makePKI(l layout) error {
	if err := os.MkdirAll(l.run("pki"), 0o700); err != nil {
		return err
	}
	a, err := newAuthority(l.run("pki"))
	if err != nil {
		return err
	}
	if err := a.serviceAccountKey(); err != nil {
		return err
	}
	subjects := []subject{
		{file: "apiserver", user: "kube-apiserver", names: []string{fabricAddress, "127.0.0.1", apiService, "localhost",
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}},
		{file: "kubelet-client", user: "kube-apiserver-kubelet-client", groups: []string{"system:masters"}},
		{file: "front-proxy", user: "front-proxy-client"},
	}
	for _, s := range subjects {
		if _, _, err := a.issue(s); err != nil {
			return err
		}
	}
	users := []subject{
		{file: "admin", user: "admin", groups: []string{"system:masters"}},
		{file: "provisioner", user: "volume-provisioner", groups: []string{"system:masters"}}, // its own name in the audit log
		{file: "dns", user: "coredns", groups: []string{"system:masters"}},
		{file: "controller-manager", user: "system:kube-controller-manager"},
		{file: "scheduler", user: "system:kube-scheduler"},
		{file: "proxy", user: "system:kube-proxy"},
	}
	for i := 1; i <= maxNodes; i++ {
		n := node{i}
		users = append(users, subject{file: n.process(), user: "system:node:" + n.name(), groups: []string{"system:nodes"}, names: []string{n.name()}})
	}
	for _, u := range users {
		if err := a.kubeconfig(u); err != nil {
			return err
		}
	}
	return nil
}

func newAuthority(dir string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "fairlead-kube"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(validity)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	a := &authority{dir, cert, der, key}
	// The controller manager signs requests for certificates with this key.
	if err := a.writeKey("ca.key", key); err != nil {
		return nil, err
	}
	return a, a.write("ca.crt", pemOf("CERTIFICATE", der))
}

// serviceAccountKey signs the tokens of pods.
func (a *authority) serviceAccountKey() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if err := a.writeKey("sa.key", key); err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	return a.write("sa.pub", pemOf("PUBLIC KEY", public))
}

// issue writes FILE.crt and FILE.key.
func (a *authority) issue(s subject) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: s.user, Organization: s.groups}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter}
	for _, n := range s.names {
		if ip := net.ParseIP(n); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, n)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, private.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	cert, key = pemOf("CERTIFICATE", der), pemOf("PRIVATE KEY", keyDER)
	if err := a.write(s.file+".crt", cert); err != nil {
		return nil, nil, err
	}
	return cert, key, a.write(s.file+".key", key)
}

func (a *authority) kubeconfig(s subject) error {
	cert, key, err := a.issue(s)
	if err != nil {
		return err
	}
	encode := base64.StdEncoding.EncodeToString
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: fairlead-kube
contexts: [{name: fairlead-kube, context: {cluster: fairlead-kube, user: %q}}]
clusters: [{name: fairlead-kube, cluster: {server: "https://%s:6443", certificate-authority-data: %s}}]
users: [{name: %q, user: {client-certificate-data: %s, client-key-data: %s}}]
`, s.user, fabricAddress, encode(pemOf("CERTIFICATE", a.der)), s.user, encode(cert), encode(key))
	return a.write(s.file+".kubeconfig", []byte(text))
}

func (a *authority) writeKey(name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return a.write(name, pemOf("PRIVATE KEY", der))
}

func (a *authority) write(name string, text []byte) error {
	return os.WriteFile(a.dir+"/"+name, text, 0o600)
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
