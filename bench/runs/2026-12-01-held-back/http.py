import http.server,threading,http.client
class H(http.server.BaseHTTPRequestHandler):
    protocol_version='HTTP/1.1'
    def log_message(self,*a): pass
    def do_GET(self): self.send_response(200); self.send_header('Content-Length','100'); self.end_headers(); self.wfile.write(b'x'*100)
s=http.server.ThreadingHTTPServer(('127.0.0.1',0),H); threading.Thread(target=s.serve_forever,daemon=True).start()
c=http.client.HTTPConnection('127.0.0.1',s.server_address[1])
for i in range(20):
    c.request('GET','/'); open('o','ab').write(c.getresponse().read())
