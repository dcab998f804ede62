# asks.py s|c: in sb, with a host name of its own, and in sa
import socket,sys,os,time
if sys.argv[1]=='s':
    s=socket.create_server(('10.9.0.2',7777)); c,_=s.accept(); c.setsockopt(socket.IPPROTO_TCP,socket.TCP_NODELAY,1)
    while True:
        d=c.recv(100)
        if not d: break
        c.sendall(d)
else:
    while True:
        try: c=socket.create_connection(('10.9.0.2',7777)); break
        except OSError: time.sleep(.05)
    c.setsockopt(socket.IPPROTO_TCP,socket.TCP_NODELAY,1)
    t=time.time(); f=open('log','wb',0)
    for i in range(100):
        c.sendall(b'x'*64); c.recv(100); f.write(b'y'*4096)
    print(time.time()-t)
