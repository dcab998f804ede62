# relay.py DELAY SECONDS: carries packets between the network namespaces sa and sb (ip netns add), which get 10.9.0.1 and 10.9.0.2.
import os, fcntl, struct, select, time, ctypes, heapq, sys
DELAY=float(sys.argv[1])
libc=ctypes.CDLL(None)
def tun(ns,addr,peer):
    fd=os.open(f'/run/netns/{ns}',os.O_RDONLY); assert libc.setns(fd,0)==0
    t=os.open('/dev/net/tun',os.O_RDWR); fcntl.ioctl(t,0x400454ca,struct.pack('16sH',b'wan0',0x1001))
    os.system(f'ip addr add {addr} peer {peer} dev wan0; ip link set wan0 up; ip link set lo up')
    return t
a=tun('sa','10.9.0.1','10.9.0.2'); b=tun('sb','10.9.0.2','10.9.0.1')
q=[]; n=0
end=time.time()+float(sys.argv[2])
while time.time()<end:
    now=time.time()
    while q and q[0][0]<=now:
        _,_,to,p=heapq.heappop(q); os.write(to,p)
    t=q[0][0]-time.time() if q else .5
    r,_,_=select.select([a,b],[],[],max(0,t))
    for f in r:
        n+=1; heapq.heappush(q,(time.time()+DELAY,n,b if f==a else a,os.read(f,65536)))
