package main

import (
	"fmt"
	"syscall"
	"time"
)

const apiLimit = 2 * time.Minute // until the API server answers; three seconds are usual

// Times of node loss, short so that tests need not wait long: the kubelet renews its lease every quarter of
// nodeLeaseDurationSeconds (files/kubelet.yaml), the controller manager calls a node lost after nodeGrace without one, and
// pods that tolerate no more leave it evictAfter later.
const (
	nodeGrace  = "12s"
	evictAfter = "5" // seconds
)

// daemon is a process in the fabric.
type daemon struct {
	name string
	args []string
}

// api are what everything else needs: etcd and the API server.
func api(l layout) []daemon {
	return []daemon{
		{"etcd", []string{l.bin("etcd"), "--data-dir", l.run("etcd"),
			"--listen-client-urls", "http://127.0.0.1:2379", "--advertise-client-urls", "http://127.0.0.1:2379",
			"--listen-peer-urls", "http://127.0.0.1:2380", "--initial-advertise-peer-urls", "http://127.0.0.1:2380",
			"--initial-cluster", "default=http://127.0.0.1:2380",
			"--unsafe-no-fsync", // the data is thrown away with the run
			"--log-level", "warn"}},
		{"kube-apiserver", []string{l.bin("kube-apiserver"), "--etcd-servers=http://127.0.0.1:2379",
			"--bind-address=0.0.0.0", "--advertise-address=" + fabricAddress, "--secure-port=6443",
			"--tls-cert-file=" + l.pki("apiserver.crt"), "--tls-private-key-file=" + l.pki("apiserver.key"), "--client-ca-file=" + l.pki("ca.crt"),
			"--kubelet-client-certificate=" + l.pki("kubelet-client.crt"), "--kubelet-client-key=" + l.pki("kubelet-client.key"),
			"--kubelet-preferred-address-types=InternalIP",
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			"--service-account-key-file=" + l.pki("sa.pub"), "--service-account-signing-key-file=" + l.pki("sa.key"),
			"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
			"--service-cluster-ip-range=" + serviceRange,
			"--requestheader-client-ca-file=" + l.pki("ca.crt"), "--requestheader-allowed-names=front-proxy-client",
			"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-",
			"--proxy-client-cert-file=" + l.pki("front-proxy.crt"), "--proxy-client-key-file=" + l.pki("front-proxy.key"),
			"--default-not-ready-toleration-seconds=" + evictAfter, "--default-unreachable-toleration-seconds=" + evictAfter,
			"--audit-policy-file=" + l.run("audit-policy.yaml"), "--audit-log-path=" + l.run("log", "audit.log"),
			"--audit-log-maxsize=4096", // MB; a rotated log would hide from tests what was before
			"--cert-dir=" + l.run("apiserver-certs")}},
	}
}

// controllers need the API server.
func controllers(l layout) []daemon {
	config := func(name string) []string {
		k := l.pki(name + ".kubeconfig")
		return []string{"--kubeconfig=" + k, "--authentication-kubeconfig=" + k, "--authorization-kubeconfig=" + k,
			"--leader-elect=false", "--bind-address=127.0.0.1", "--cert-dir=" + l.run(name+"-certs")}
	}
	return []daemon{
		{"kube-controller-manager", append([]string{l.bin("kube-controller-manager"),
			"--service-account-private-key-file=" + l.pki("sa.key"), "--root-ca-file=" + l.pki("ca.crt"),
			"--cluster-signing-cert-file=" + l.pki("ca.crt"), "--cluster-signing-key-file=" + l.pki("ca.key"),
			"--use-service-account-credentials=true", "--allocate-node-cidrs=false",
			"--flex-volume-plugin-dir=" + l.run("flex"), // by default a folder of the machine
			"--node-monitor-period=1s", "--node-monitor-grace-period=" + nodeGrace}, config("controller-manager")...)},
		{"kube-scheduler", append([]string{l.bin("kube-scheduler")}, config("scheduler")...)},
	}
}

// addons are what a cluster needs beside itself: names, volumes, and Services as seen from the fabric.
func addons(l layout) []daemon {
	return []daemon{
		{"kube-proxy", []string{l.bin("kube-proxy"), "--config", l.run("fabric-proxy.yaml")}},
		{"dns", []string{l.bin("dns"), "-conf", l.run("Corefile")}},
		{"provisioner", []string{l.bin("provisioner"), "-kubeconfig", l.pki("provisioner.kubeconfig"), "-dir", l.run("volumes")}},
	}
}

func startDaemons(l layout, daemons []daemon) error {
	for _, d := range daemons {
		if _, alive := launched(l, d.name); alive {
			continue
		}
		if err := launch(l, d.name, &syscall.SysProcAttr{}, within(fabric, d.args...)...); err != nil {
			return err
		}
	}
	return nil
}

// awaitAPI waits until the API server is ready, or it or etcd has ended.
func awaitAPI(l layout) error {
	ended := error(nil)
	err := await(apiLimit, func() error {
		for _, d := range api(l) {
			if _, alive := launched(l, d.name); !alive {
				ended = fmt.Errorf("%s ended: see %s", d.name, l.log(d.name))
				return nil
			}
		}
		_, err := kubectl(l, "get", "--raw", "/readyz")
		return err
	})
	if ended != nil {
		return ended
	}
	if err != nil {
		return fmt.Errorf("wait for the API server: %w", err)
	}
	return nil
}
