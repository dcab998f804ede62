import textwrap
PYR="python3"
ALL=[]
def W(name=None,**k):
    def d(fn):
        ALL.append({"name":name or fn.__name__.rstrip("_"),"make":fn,**k}); return fn
    return d
def sh(c): return ["/bin/sh","-c",c]
def py(f,name,src,*args):
    (f/name).write_text(textwrap.dedent(src)); return [PYR,"-B",name,*map(str,args)]
WORK='''
import os
def work(name, n=60):
    for i in range(n):
        with open(f"{name}.{i}","wb") as f: f.write(b"x"*2000)
'''
@W()
def popenwait(f):
    (f/"child.py").write_text(WORK+"\nwork('c',100)\n")
    return py(f,"m.py",'''
import subprocess,sys
for k in range(2):
    p=subprocess.Popen([sys.executable,"-B","child.py"]); p.wait(timeout=20)
open("end","w").write("x")
''')
@W()
def isalive(f):
    return py(f,"m.py",WORK+'''
import multiprocessing as mp, time
p=mp.get_context("fork").Process(target=work,args=("c",100)); p.start()
while p.is_alive(): time.sleep(0.01)
open("end","w").write("x")
''')
@W()
def threadalive(f):
    return py(f,"m.py",WORK+'''
import threading, time
p=threading.Thread(target=work,args=("c",100)); p.start()
while p.is_alive(): time.sleep(0.01)
open("end","w").write("x")
''')
@W()
def flockpoll(f):
    return py(f,"m.py",WORK+'''
import fcntl, time, os
def crit(me):
    for k in range(4):
        fd=os.open("lock",os.O_RDWR|os.O_CREAT)
        while True:
            try: fcntl.flock(fd,fcntl.LOCK_EX|fcntl.LOCK_NB); break
            except OSError: time.sleep(0.005)
        work(f"c{me}.{k}",15)
        os.close(fd); time.sleep(0.006)
if os.fork()==0: crit(1); os._exit(0)
crit(0); os.wait()
''')
@W()
def fcntlpoll(f):
    return py(f,"m.py",WORK+'''
import fcntl, time, os
def crit(me):
    for k in range(4):
        fd=os.open("lock",os.O_RDWR|os.O_CREAT)
        while True:
            try: fcntl.lockf(fd,fcntl.LOCK_EX|fcntl.LOCK_NB); break
            except OSError: time.sleep(0.005)
        work(f"c{me}.{k}",15)
        fcntl.lockf(fd,fcntl.LOCK_UN); time.sleep(0.006)
if os.fork()==0: crit(1); os._exit(0)
crit(0); os.wait()
''')
@W()
def mkdirlock(f):
    return py(f,"m.py",WORK+'''
import time, os
def crit(me):
    for k in range(4):
        while True:
            try: os.mkdir("lockdir"); break
            except FileExistsError: time.sleep(0.005)
        work(f"c{me}.{k}",15)
        os.rmdir("lockdir"); time.sleep(0.006)
if os.fork()==0: crit(1); os._exit(0)
crit(0); os.wait()
''')
@W()
def connectretry(f):
    return py(f,"m.py",WORK+'''
import socket, time, os
port=30000+os.getpid()%20000
if os.fork()==0:
    work("s",60); s=socket.socket(); s.setsockopt(socket.SOL_SOCKET,socket.SO_REUSEADDR,1); s.bind(("127.0.0.1",port)); s.listen(); c,_=s.accept(); c.recv(10); os._exit(0)
while True:
    c=socket.socket()
    try: c.connect(("127.0.0.1",port)); break
    except OSError: c.close(); time.sleep(0.01)
c.send(b"x"); os.wait(); work("m",20)
''')
@W()
def sizegrows(f):
    return py(f,"m.py",WORK+'''
import time, os
if os.fork()==0:
    o=open("log","wb",0)
    for i in range(60): o.write(b"y"*1000); work(f"l{i}",1)
    os._exit(0)
while True:
    try:
        if os.stat("log").st_size>=60000: break
    except FileNotFoundError: pass
    time.sleep(0.01)
os.wait(); work("m",20)
''')
@W()
def sqlitebusy(f):
    return py(f,"m.py",'''
import sqlite3, os
c=sqlite3.connect("d.db"); c.execute("create table t(a)"); c.commit(); c.close()
def run(me):
    c=sqlite3.connect("d.db",timeout=30,isolation_level=None)
    for k in range(25):
        c.execute("begin immediate"); c.execute("insert into t values(?)",(me*100+k,)); c.execute("commit")
if os.fork()==0: run(1); os._exit(0)
run(0); os.wait()
''')
@W()
def shellwait(f):
    return sh('(i=0; while [ $i -lt 60 ]; do echo $i > c$i; i=$((i+1)); done; touch done) & while [ ! -e done ]; do sleep 0.02; done; wait; echo x > end')
@W()
def shellkill0(f):
    return sh('(i=0; while [ $i -lt 60 ]; do echo $i > c$i; i=$((i+1)); done) & p=$!; while kill -0 $p 2>/dev/null; do sleep 0.02; done; echo x > end')
@W()
def futurepoll(f):
    return py(f,"m.py",WORK+'''
import time, concurrent.futures as cf
with cf.ThreadPoolExecutor(2) as e:
    fs=[e.submit(work,f"c{i}",30) for i in range(4)]
    while not all(x.done() for x in fs): time.sleep(0.01)
open("end","w").write("x")
''')
@W()
def asyncproc(f):
    (f/"child.py").write_text(WORK+"\nwork('c',60)\n")
    return py(f,"m.py",'''
import asyncio,sys
async def main():
    p=await asyncio.create_subprocess_exec(sys.executable,"-B","child.py")
    while True:
        try: await asyncio.wait_for(asyncio.shield(p.wait()),0.05); break
        except asyncio.TimeoutError: pass
    open("end","w").write("x")
asyncio.run(main())
''')
@W()
def pidfile(f):
    return sh('(i=0; while [ $i -lt 60 ]; do echo $i > c$i; i=$((i+1)); done; echo $$ > pid) & until test -s pid; do sleep 0.02; done; wait; cat pid > end')
@W()
def spinflag(f):
    (f/"a.c").write_text(r'''
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include <fcntl.h>
static volatile int done;
static void *w(void *x){ for(int i=0;i<100;i++){ char n[20]; sprintf(n,"c%d",i); int fd=open(n,O_CREAT|O_WRONLY,0600); write(fd,n,10); close(fd);} done=1; return 0; }
int main(){ pthread_t t; pthread_create(&t,0,w,0); while(!done) usleep(1000); int fd=open("end",O_CREAT|O_WRONLY,0600); write(fd,"x",1); close(fd); pthread_join(t,0); }
''')
    import subprocess; subprocess.run(["gcc","-O2","-o",str(f/"a"),str(f/"a.c"),"-pthread"],check=True)
    return ["./a"]
