//! Links between the pages.

use std::path::PathBuf;

use crate::page::Page;

#[test]
fn links_lead_to_files_and_headings_that_are_there() {
    let mut broken = Vec::new();
    for page in Page::all() {
        for link in page.links() {
            if !link.contains("://") && !leads_somewhere(&page, &link) {
                broken.push(format!("{}: {link}", page.path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

fn leads_somewhere(page: &Page, link: &str) -> bool {
    let (file, anchor) = match link.split_once('#') {
        Some((file, anchor)) => (file, Some(anchor)),
        None => (link, None),
    };
    let path: PathBuf = match file {
        "" => page.path.clone(),
        file => page.path.parent().expect("a folder").join(file),
    };
    path.exists() && anchor.is_none_or(|anchor| Page::read(&path).anchors().contains(anchor))
}

#[test]
fn the_index_leads_to_every_page() {
    let index = Page::read("docs/README.md");
    let links = index.links();
    for page in Page::all() {
        let name = page.path.file_name().expect("a name").to_string_lossy();
        let is_told = links
            .iter()
            .any(|link| link.split('#').next() == Some(&name));
        let in_docs = page.path.parent() == index.path.parent();
        assert!(!in_docs || page.path == index.path || is_told, "{name}");
    }
}
