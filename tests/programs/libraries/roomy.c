/* A library with 256 bytes of thread-local memory in the static block, of which a process has little to spare for what
 * it loads late. */

__attribute__((tls_model("initial-exec"))) static __thread char room[256];

int plugin_run(const char *name)
{
    for (unsigned i = 0; i < sizeof room; i++)
        room[i] = (char)(name[0] + i);
    return room[255] != (char)(name[0] + 255);
}
