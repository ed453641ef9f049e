/** What tests of drivers share with the contract that is exported. */
export {
  eventually,
  given,
  LONG,
  next,
  readAll,
  rejects,
} from "../../src/testing/store-contract/support.ts";
