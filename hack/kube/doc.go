// Command kube runs a real Kubernetes cluster on one Linux machine, as root, without containers of its own, registries or
// internet access at run time: for end-to-end tests and for trying things.
//
// Binaries are built from Go modules (build/go.mod) into a cache folder, ${XDG_CACHE_HOME:-~/.cache}/fairlead-kube: a cold
// build takes ten minutes on two cores and 8 GB, later ones seconds. Everything of a run is below run/ in it, in network
// namespaces named fairlead-kube*, and in processes whose ids are in run/pid; `kube down` ends and removes all of that.
// There is one cluster per machine.
//
// Shape: the control plane (etcd, API server, controller manager, scheduler), CoreDNS and the volume provisioner are
// processes in a network namespace, the fabric, with a bridge and no route out. A node is a process tree in namespaces of
// its own (network, mounts, processes, host name, IPC) with containerd, kubelet and kube-proxy; killing its first process
// takes all of it. The machine's settings, mounts and cgroups stay as they are. What talks to the cluster runs in the
// fabric too: `kube exec`, `kube kubectl`.
//
// What is not there: resource limits and OOM kills (no cgroups are made), NetworkPolicy, load balancers, image pulls.
// docs/local-kubernetes.md tells how to use it.
package main
