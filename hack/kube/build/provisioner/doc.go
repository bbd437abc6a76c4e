// Command provisioner gives the local cluster its volumes: a claim of a storage class whose provisioner is Name becomes
// a folder DIR/NODE/VOLUME on the machine, bound to the node that the scheduler selected; a released volume with the
// policy Delete goes with its files; and a claim that asks for more than it has is granted, as an external resizer would:
// the volume's capacity first, then the claim's. Sizes are words only: nothing limits what is written.
//
// Level-based: each change of a claim or volume, and each resync, looks at the object as it is. One informer handler runs
// at a time per kind, so nothing is done twice at once; what fails is logged and done at the next resync.
package main
