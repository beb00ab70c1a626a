declare const config: {
  readonly roots: readonly string[]
  readonly testPathIgnorePatterns: readonly string[]
}
// biome-ignore lint/style/noDefaultExport: jest expects it
export default config
