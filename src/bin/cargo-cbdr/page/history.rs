pub(crate) fn page(_: &cargo_cbdr::history::series::Listing) -> String {
    String::new()
}
