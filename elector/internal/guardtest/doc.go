// Package guardtest is what every guard of elector/fence has to answer to the
// same tokens. It is shared by the tests of that package and by those which need
// a driver that only another module has, so it knows no guard, and no errors but
// through who calls it.
package guardtest
