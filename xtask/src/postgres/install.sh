# Installs the named Debian packages. For that time no service is started, and Postgres makes
# no cluster of its own; what stood in the way of either before stays as it was.
set -eu
export DEBIAN_FRONTEND=noninteractive

policy=/usr/sbin/policy-rc.d
settings=/etc/postgresql-common/createcluster.d
setting=$settings/piton-tests.conf
made_policy=

undo() {
    rm -f "$setting"
    rmdir "$settings" 2>/dev/null || :
    if [ -n "$made_policy" ]; then rm -f "$policy"; fi
}
trap undo EXIT
trap 'exit 130' HUP INT TERM

mkdir -p "$settings"
echo 'create_main_cluster = false' >"$setting"
if [ ! -e "$policy" ] && [ ! -L "$policy" ]; then
    made_policy=yes
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi

apt-get -qq update >&2
# What is installed already stays as it is: an upgrade could reach a cluster that is in use.
apt-get -qq -o DPkg::Lock::Timeout=120 install -y --no-install-recommends --no-upgrade "$@" >&2
