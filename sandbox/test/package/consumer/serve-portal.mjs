import { createReadStream } from 'node:fs'
import { createServer } from 'node:http'

/** The development server of a portal: one page, without a broker. */
createServer((req, res) => {
  if (req.url === '/')
    createReadStream(new URL('portal.html', import.meta.url)).pipe(res.setHeader('Content-Type', 'text/html'))
  else res.writeHead(404).end()
}).listen(Number(process.argv[2]))
