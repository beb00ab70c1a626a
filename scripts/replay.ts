import { replayFolders } from './replay-folders.ts'

const { code, out, err } = replayFolders(process.argv.slice(2))
process.stdout.write(out)
process.stderr.write(err)
process.exitCode = code
