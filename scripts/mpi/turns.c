#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>
static double cpu(void){struct rusage u;getrusage(RUSAGE_SELF,&u);return u.ru_utime.tv_sec+u.ru_utime.tv_usec*1e-6+u.ru_stime.tv_sec+u.ru_stime.tv_usec*1e-6;}
int main(int c,char**v){MPI_Init(&c,&v);int in[2],flag,index;MPI_Request r[2];
for(int i=0;i<2;i++)MPI_Irecv(&in[i],1,MPI_INT,0,i,MPI_COMM_WORLD,&r[i]);
enum{N=5000000};
for(int k=0;k<2;k++){double b=cpu();
for(int i=0;i<N;i++){MPI_Test(&r[0],&flag,MPI_STATUS_IGNORE);MPI_Testany(1,&r[1],&index,&flag,MPI_STATUS_IGNORE);}
if(k)printf("by-turns,%.2f\n",(cpu()-b)/(2.0*N)*1e9);}
double b=cpu();for(int i=0;i<N;i++)MPI_Test(&r[0],&flag,MPI_STATUS_IGNORE);printf("row,%.2f\n",(cpu()-b)/N*1e9);
for(int i=0;i<2;i++)MPI_Cancel(&r[i]);MPI_Waitall(2,r,MPI_STATUSES_IGNORE);MPI_Finalize();return 0;}
