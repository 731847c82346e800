// The command clientgo is a candidate that leads when the leader election of
// Kubernetes' k8s.io/client-go says so, as that package's example has it:
// OnStartedLeading is called when it leads, OnStoppedLeading when it no longer
// does. The record that Kubernetes keeps in a Lease is kept in Redis here.
//
// Give it leases of whole seconds: client-go drops the rest.
//
//	chaos run partition-leader --lease 3s --exec bin/clientgo
//	chaos run partition-leader --lease 3s --exec 'bin/clientgo -release=false'
package main
