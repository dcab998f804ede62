SITE="SITE_PACKAGES"
def cc(d, name, src, *flags):
    open(d/(name+".c"),"w").write(src); subprocess.run(["gcc","-O2","-o",str(d/name),str(d/(name+".c")),*flags],check=True)
def many(d):
    cc(d,"tool",'#include <stdio.h>\nint main(){return 0;}\n')
    return ["/bin/sh","-c","cd @; for i in $(seq 60); do @/tool; done"]
def prog(d):
    cc(d,"tool",'#include <stdio.h>\nint main(){return 0;}\n')
    return ["@/tool"]
def bigprog(d):
    body="\n".join(f"int f{i}(int x){{ static const int t[2000]={{{i},1,2,3}}; volatile int k=x; for(int j=0;j<2000;j+=97)k+=t[j]; return k; }}" for i in range(400))
    calls="".join(f"s+=f{i}(s);" for i in range(400))
    cc(d,"tool",f"#include <stdio.h>\n{body}\nint main(){{int s=1;{calls} printf(\"%d\\n\",s);return 0;}}\n","-O1")
    return ["/bin/sh","-c","for i in 1 2 3 4 5 6 7 8 9 10; do @/tool; done"]
def libs(d):
    for i in range(20): cc(d,f"lib{i}.so",f"int g{i}[5000]={{1}}; int h{i}(int x){{return g{i}[x]+x;}}\n","-shared","-fPIC")
    cc(d,"tool","\n".join(f"int h{i}(int);" for i in range(20))+"\nint main(){int s=0;"+"".join(f"s+=h{i}(7);" for i in range(20))+"return s==3;}",f"-L{d}",*[f"-l:lib{i}.so" for i in range(20)],"-Wl,-rpath,$ORIGIN")
    return ["/bin/sh","-c","for i in 1 2 3 4 5; do @/tool; done"]
def numpy(d):
    (d/"site").mkdir()
    for n in ("numpy","numpy.libs"): shutil.copytree(f"{SITE}/{n}", d/"site"/n)
    open(d/"x.py","w").write("import sys; sys.path.insert(0, sys.argv[1]+'/site')\nimport numpy\nprint(numpy.arange(10).sum())\n")
    return ["/usr/bin/python3.11","-S","@/x.py","@"]
def dl(d):
    for i in range(20): cc(d,f"lib{i}.so",f"int g{i}[50000]={{1}}; int h(int x){{return g{i}[x]+x;}}\n","-shared","-fPIC")
    cc(d,"tool",'#include <dlfcn.h>\n#include <stdio.h>\nint main(int c,char**v){int s=0;for(int i=0;i<20;i++){char b[999];sprintf(b,"%s/lib%d.so",v[1],i);void*h=dlopen(b,RTLD_NOW);if(!h)return 1;int(*f)(int)=dlsym(h,"h");s+=f(40000);} printf("%d\\n",s);return 0;}\n')
    return ["@/tool","@"]
def script(d):
    open(d/"s.sh","w").write("#!/bin/sh\nexit 0\n"); os.chmod(d/"s.sh",0o755)
    return ["/bin/sh","-c","for i in $(seq 40); do @/s.sh; done"]
PROGS=dict(many=many,prog=prog,bigprog=bigprog,libs=libs,numpy=numpy,dl=dl,script=script)
