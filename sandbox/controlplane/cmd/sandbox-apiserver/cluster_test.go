package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// authority issues the certificates of one test cluster.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	dir  string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	if err := os.Mkdir(filepath.Join(a.dir, "pki"), 0o700); err != nil {
		t.Fatal(err)
	}
	a.cert, a.key = a.issue("ca", &x509.Certificate{
		Subject: pkix.Name{CommonName: "test-ca"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, "pki", name) }

// issue writes <name>.crt and <name>.key; the first certificate signs itself.
func (a *authority) issue(name string, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.must(err)
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	signer, signerKey := a.cert, a.key
	if signer == nil {
		signer, signerKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, key.Public(), signerKey)
	a.must(err)
	private, err := x509.MarshalECPrivateKey(key)
	a.must(err)
	a.must(os.WriteFile(a.file(name+".crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	a.must(os.WriteFile(a.file(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}), 0o600))
	cert, err := x509.ParseCertificate(der)
	a.must(err)
	return cert, key
}

func (a *authority) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

func (a *authority) server(name string, hosts ...string) {
	a.issue(name, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: hosts, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

// cluster is a control plane that a test runs in its own process.
type cluster struct {
	*authority
	flags flags
	stop  func() error
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{authority: newAuthority(t)}
	c.server("apiserver", "localhost")
	ports := freePorts(t, 3)
	c.flags = flags{dir: c.dir, port: ports[0], etcdPort: ports[1], peerPort: ports[2], auditLog: filepath.Join(c.dir, "audit.jsonl")}
	return c
}

// up returns when clients may come; the cluster goes down with the test at the latest.
func (c *cluster) up() {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- run(ctx, c.flags, func() { close(ready) }) }()
	stopped := false
	c.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-done
	}
	c.t.Cleanup(func() { _ = c.stop() })
	select {
	case <-ready:
	case err := <-done:
		stopped = true
		cancel()
		c.t.Fatalf("did not start: %v", err)
	case <-time.After(30 * time.Second):
		c.t.Fatal("not ready after 30 s")
	}
}

// as makes the configuration of a user with a certificate of its own.
func (c *cluster) as(user string, groups ...string) *rest.Config {
	c.t.Helper()
	name := fmt.Sprintf("user-%x", user)
	c.issue(name, &x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return &rest.Config{
		Host: fmt.Sprintf("https://127.0.0.1:%d", c.flags.port), QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: c.file("ca.crt"), CertFile: c.file(name + ".crt"), KeyFile: c.file(name + ".key")},
	}
}

func (c *cluster) client(user string, groups ...string) *kubernetes.Clientset {
	c.t.Helper()
	client, err := kubernetes.NewForConfig(c.as(user, groups...))
	c.must(err)
	return client
}

func (c *cluster) eventually(what string, happened func() bool) {
	c.t.Helper()
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if happened() {
			return
		}
	}
	c.t.Fatalf("did not happen: %s", what)
}

func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}
