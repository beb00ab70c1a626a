/** Node's arguments, and environment variables. */
export interface Command {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** Returns the path of the tarball. */
export function pack(folder: string, ...options: string[]): string
export function writePortal(folder: string): void
export function installOffline(folder: string, tarball: string): void
export function portalCommands(options: { portalPort: number; chromium: string }): Record<string, Command>
