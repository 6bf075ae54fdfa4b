# What the pods' commands may on a node with AppArmor: what a container may by default, and to mount, which the
# sandbox needs and the runtime's own profile refuses. Loaded by k8s/node-profiles.yaml.
abi <abi/3.0>,

profile evolve flags=(attach_disconnected, mediate_deleted) {
  file,
  network,
  capability,

  # In namespaces of their own alone: without those nobody here has the right to.
  mount,
  umount,
  pivot_root,

  signal (receive),
  signal (send) peer=evolve,
  ptrace peer=evolve,

  # The node itself.
  deny /proc/sys/** w,
  deny /proc/{acpi,bus,fs,irq}/** w,
  deny /proc/{kcore,kmem,mem,sysrq-trigger} rwklx,
  deny /sys/** wklx,
  deny /sys/{firmware,kernel/security}/** rwklx,
}
