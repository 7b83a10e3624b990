/** What the component's runtime offers under the names of WIT; there are no types for it. */
declare module "pausegate:*" {
  const host: any;
  export default host;
}
declare module "wasi:*" {
  const host: any;
  export default host;
}
