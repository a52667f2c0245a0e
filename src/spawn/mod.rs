//! Evidence about failed agent runs: pure, text in, text out.
